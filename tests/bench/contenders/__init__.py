"""Loops that do the same work: four calls of a model, three of them with tools. Each runs in a process of its own."""
