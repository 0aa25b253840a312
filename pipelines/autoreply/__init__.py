"""From a contact's messages to bubbles that wait for their control window, or to a reason for silence."""
