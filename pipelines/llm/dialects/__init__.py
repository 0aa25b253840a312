"""Our neutral form to a provider's JSON and back. Pure: no library of a provider is imported here."""
