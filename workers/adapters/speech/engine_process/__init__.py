"""The built-in voices as a program of its own: `python -m workers.adapters.speech.engine_process espeak`.

eSpeak NG is GPL-3. It is loaded here and nowhere else; the rest of the product talks to this program through a
socket and shares no more with it than `frames`. The program needs no setting, no key and no network.
"""
