"""What an organisation takes upon itself when it weakens the notice: shown at the first call, accepted by version."""

NOTICE_RESPONSIBILITY_VERSION = "2026-08"
NOTICE_RESPONSIBILITY = (
    "Without the notice, contacts are not told by Replique that an AI writes to them. EU AI Act article 50 and the "
    "model provider's usage policy require that they know. By accepting you confirm that your application tells them "
    "before the first reply, and that your organisation answers for it."
)
