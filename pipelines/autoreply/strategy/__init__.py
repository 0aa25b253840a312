"""Rules on a conversation: compiled and checked, evaluated, resolved into what one run is told and allowed."""
