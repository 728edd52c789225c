"""The page of the emergency centre: an alert appears as it is raised, records draw nothing of their own, and without a demo it says how to start one."""

from __future__ import annotations

import json
import time
from typing import Any

from headrace.admin.cluster import Cluster
from headrace.demo import stage
from headrace.demo.scenario import Scenario
from headrace.demo.scoring import score
from headrace.demo.status import KEY, STATUS, Status
from headrace.testing.clients import Clients
from tests.console.conftest import Open


def alert(name: str, epoch_ms: int) -> dict[str, Any]:
    return {
        "id": name, "kind": "earthquake", "level": "critical", "place": "LOR", "name": name, "region": "Región de Murcia", "latitude": 37.7,
        "longitude": -1.7, "people": 97000, "reason": "40 posts in 5 s", "hospital": "La Arrixaca", "beds": 900, "time": epoch_ms + 64_000,
    }  # fmt: skip


def test_an_alert_appears(kafka: Clients, open_page: Open) -> None:
    page = open_page("/emergency")
    page.get_by_text("No demo has run on this cluster").wait_for()
    cluster = Cluster(kafka.bootstrap_servers, "the test")
    stage.create_topics(cluster)
    epoch_ms = int(time.time() * 1000) - 70_000
    producer = cluster.producer({})
    nothing = score(Scenario(7), 50, {}, [])
    producer.produce(STATUS, Status(Scenario(7), epoch_ms, 70.0, 1000, 0.5, nothing).encode(), KEY)
    producer.flush(10)
    page.get_by_text("minute 1:1").wait_for()
    assert page.locator(".hr-map svg .alert").count() == 0
    for name in ("Lorca", "<script>document.title='broken'</script>"):
        producer.produce("alerts", json.dumps(alert(name, epoch_ms)).encode(), "Región de Murcia")
    producer.flush(10)
    page.locator(".hr-map svg .alert").first.wait_for()
    page.get_by_role("heading", name="Earthquake near Lorca, Región de Murcia").wait_for()
    page.get_by_role("heading", name="Earthquake near <script>").wait_for()
    assert page.title() != "broken"
    assert page.get_by_text("40 posts in 5 s.").count() == 2
