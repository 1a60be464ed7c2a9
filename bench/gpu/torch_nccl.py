#!/usr/bin/env python3
"""The hop that gpu_hop measures, with torch.distributed's send and recv over NCCL: two processes on one GPU.

    NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo torch_nccl.py HOPS [BYTES]...

Prints one JSON object. Each process says that it is a machine of its own, as NCCL refuses two ranks of one on one GPU.
"""
import json
import os
import sys
import time

WARM_UP = 10


def play(rank, sizes, hops, port):
    os.environ["NCCL_HOSTID"] = str(os.getpid())
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    rows = []
    for size in sizes:
        out = torch.full((size,), 7, dtype=torch.uint8, device="cuda:0")
        into = torch.empty_like(out)
        torch.cuda.synchronize()
        times = []
        for hop in range((hops if size <= 4 << 20 else max(20, hops // 10)) + WARM_UP):
            start = time.perf_counter()
            if rank == 0:
                dist.send(out, 1)
            dist.recv(into, 1 - rank)
            torch.cuda.synchronize()
            if rank == 1:
                dist.send(out, 0)
            if hop >= WARM_UP:
                times.append((time.perf_counter() - start) * 1e6 / 2)
        times.sort()
        print(f"rank {rank}, {size} bytes: done", file=sys.stderr, flush=True)
        pick = lambda part: times[int(part * (len(times) - 1))]
        rows.append({"bytes": size, "p50_us": pick(0.5), "p10_us": pick(0.1), "p90_us": pick(0.9)})
    torch.cuda.synchronize()
    if rank == 0:
        print(json.dumps({"lane": "torch.distributed nccl", "rows": rows}), flush=True)
    dist.destroy_process_group()


def main():
    import multiprocessing

    hops = int(sys.argv[1])
    sizes = [int(each) for each in sys.argv[2:]] or [4096, 65536, 1 << 20, 16 << 20, 64 << 20]
    multiprocessing.set_start_method("spawn")
    ranks = [multiprocessing.Process(target=play, args=(rank, sizes, hops, 29533)) for rank in (0, 1)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()
    sys.exit(max(each.exitcode for each in ranks))


if __name__ == "__main__":
    main()
