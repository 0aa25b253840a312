"""A contact's name as a hash, for what must be known of a name after its contact was erased."""

_HASH = """(SELECT encode(sha256(convert_to(
  i.secret || '/erased/' || CAST(:org AS text) || '/' || {name}, 'UTF8')), 'hex')
FROM installation i ORDER BY i.id LIMIT 1)"""


def subject_of(name: str) -> str:
    """SQL for the hash of the name that is bound as `name`; binds `org` too.

    The installation's own secret is part of it, so that nobody finds names by trying them elsewhere.
    """
    return _HASH.format(name=f"CAST({name} AS text)")


def locked_before(name: str) -> str:
    """SQL: when a contact begins locked, because the one erased under that name was. Else null.

    A safety lock is opened by two people. Erasing a contact and writing anew must be no way around it.
    """
    return f"""(SELECT CASE WHEN e.locked THEN clock_timestamp() END FROM erasures e
WHERE e.org_id = :org AND e.subject = {subject_of(name)} ORDER BY e.id DESC LIMIT 1)"""
