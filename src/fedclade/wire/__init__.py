"""What travels between a server and its clients: requests, replies, and the one table of verbs. Plain data only.

A new verb is one entry of the table (`verbs.py`) and one handler at the client (`fedclade.client.handlers`).
"""

from fedclade.wire.forms import Form, has_overflow, quote
from fedclade.wire.message import Arrays, Arrival, Refusal, Reply, Request
from fedclade.wire.verb import AnyVerb, Verb

__all__ = ["AnyVerb", "Arrays", "Arrival", "Form", "Refusal", "Reply", "Request", "Verb", "has_overflow", "quote"]
