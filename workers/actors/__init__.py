"""Every job the workers can do, in the order a message meets them."""

from typing import Any

from workers.actors.auto_reply import auto_reply
from workers.actors.close_links import close_links
from workers.actors.delayed_send import delayed_send
from workers.actors.deliver import deliver
from workers.actors.handles import Actor
from workers.actors.learn import learn
from workers.actors.summarize import summarize

ALL: tuple[Actor[Any], ...] = (auto_reply, delayed_send, deliver, learn, summarize, close_links)
