"""Where appends run: inline, in the thread while the disk is slow, inline again under a load that never pauses."""

from __future__ import annotations

from headrace.testing import broker, wait_until
from headrace.testing.faults import ThrottledFs
from tests.broker.raw import RawClient, batch, produce_request

CLIENTS = 12


def test_appends_come_back_to_the_loop_under_steady_load() -> None:
    fs = ThrottledFs(write_delay_s=0.02, matching="/t-", active=False)
    with broker(fs=fs) as server:
        server.create_topic("t", 1)
        clients = [RawClient(server.port) for _ in range(CLIENTS)]
        try:
            fs.active = True
            assert clients[0].produce("t", batch(b"slow")).error_code == 0
            assert server.call(is_slow)
            fs.active = False
            sent = 1
            while server.call(is_slow):
                # Every client has a request under way all the time.
                for client in clients:
                    client.send(produce_request("t", batch(b"x")), 9)
                offsets = [client.receive().responses[0].partition_responses[0].base_offset for client in clients]
                assert sorted(offsets) == list(range(sent, sent + CLIENTS))
                sent += CLIENTS
                assert sent < 5000, "the writer thread keeps the appends for ever"
            assert clients[0].produce("t", batch(b"last")).base_offset == sent
        finally:
            for client in clients:
                client.socket.close()


def is_slow(server) -> bool:
    return server.replicas.directories[0].writer.slow


def test_answers_of_a_slow_disk_keep_their_order() -> None:
    fs = ThrottledFs(write_delay_s=0.02, matching="/t-")
    with broker(fs=fs) as server:
        server.create_topic("t", 1)
        with RawClient(server.port) as client:
            assert [client.produce("t", batch(b"x")).base_offset for _ in range(5)] == [0, 1, 2, 3, 4]
        wait_until(lambda: server.call(lambda b: b.replicas.get("t", 0).pending) == 0)
