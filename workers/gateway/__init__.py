"""The HTTP surface: translates requests into transitions and reads, and failures into problems."""
