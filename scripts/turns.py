"""The day whose turn it is (CONTRIBUTING.md, Turns): as tests/support/turns.hpp and tests/nodes have it."""
import os
import time


def day():
    """Days since 1970, TROUPE_TURN's if set; None where everything has its turn (TROUPE_TURN=all)."""
    given = os.environ.get("TROUPE_TURN", str(int(time.time() // 86400)))
    return None if given == "all" else int(given)
