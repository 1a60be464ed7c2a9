"""A line that takes time: frames between two interfaces of a namespace come out so many milliseconds later, each way.

delay.py INTERFACE INTERFACE MILLISECONDS

Run by cluster.py between a node and the switch, as not every kernel has netem. Ends when it is killed.
"""
import collections
import select
import socket
import sys
import time

ALL_PROTOCOLS = 3
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 263, 15, 23, 33
FRAME_MAX = 1 << 17


def opened(interface):
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    # with the header that says what of a frame is left to hardware: checksums, and the cut into segments
    made.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    made.bind((interface, 0))
    made.setblocking(False)
    return made


def main():
    near, far = opened(sys.argv[1]), opened(sys.argv[2])
    delay = float(sys.argv[3]) / 1000
    other = {near: far, far: near}
    on_the_way = collections.deque()
    while True:
        left = on_the_way[0][0] - time.monotonic() if on_the_way else None
        for ready in select.select([near, far], [], [], None if left is None else max(0, left))[0]:
            try:
                while True:
                    on_the_way.append((time.monotonic() + delay, other[ready], ready.recv(FRAME_MAX)))
            except OSError:
                pass
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, to, frame = on_the_way.popleft()
            try:
                to.send(frame)
            except OSError:
                pass  # as a line that is full


if __name__ == "__main__":
    main()
