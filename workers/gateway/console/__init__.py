"""The operator console: pages rendered here, kept live by one stream of events, steered by the transitions of the API.

A module a page. Words are in `words/`, in every language the same keys; markup is in `templates/`.
"""
