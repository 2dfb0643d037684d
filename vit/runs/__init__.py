"""Training runs: their folders, the state they are in, the queue they wait in, what they tell, and how many may be."""

from vit.runs.asking import ask, owner_of
from vit.runs.folder import (
    FLIPS,
    Role,
    Run,
    Unreadable,
    busy,
    checkpoint_path,
    create,
    delete,
    disk_used,
    everything,
    fingerprint,
    folder_of,
    get,
    list_runs,
    pause,
    place_in_queue,
    read_run,
    resume,
    stop,
    unreadable,
    waiting,
)
from vit.runs.limits import (
    RunError,
    disk_limit,
    fair_threads,
    max_waiting,
    max_waiting_each,
    max_workers,
    pair_memory,
)
from vit.runs.metrics import Feed, ShownBatch, feed, last_verdict, read_batch, write_batch
from vit.runs.owners import Visitor, key_is_set
from vit.runs.pairs import Arms, create_pair, create_twins, pair, room_in_queue
from vit.runs.state import ACTIVE
from vit.runs.status import (
    SERVER_GONE_AFTER,
    heartbeat_of,
    is_locked,
    locked,
    read_control,
    read_status,
    root,
    write_control,
    write_status,
)

__all__ = [
    "ACTIVE", "FLIPS", "SERVER_GONE_AFTER", "Arms", "Feed", "Role", "Run", "RunError", "ShownBatch", "Unreadable",
    "Visitor", "ask", "busy", "checkpoint_path", "create", "create_pair", "create_twins", "delete", "disk_limit",
    "disk_used", "everything", "fair_threads", "feed", "fingerprint", "folder_of", "get", "heartbeat_of", "is_locked",
    "key_is_set", "last_verdict", "list_runs", "locked", "max_waiting", "max_waiting_each", "max_workers", "owner_of",
    "pair", "pair_memory", "pause", "place_in_queue", "read_batch", "read_control", "read_run", "read_status",
    "resume", "room_in_queue", "root", "stop", "unreadable", "waiting", "write_batch", "write_control", "write_status",
]
