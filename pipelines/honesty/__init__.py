"""What a contact says that stops the AI or calls a person: rules in French and English, no model.

Each module answers the name of the rule that fired, or None. The names are kept as evidence; the words are not.
"""
