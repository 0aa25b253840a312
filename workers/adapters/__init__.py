"""Ports answered by libraries, one library each; none of their exceptions get out."""
