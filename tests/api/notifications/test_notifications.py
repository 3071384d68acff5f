"""Notifications as rows: GET /v1/notifications."""


def test_nobody_was_told_yet(client):
    answer = client.get("/v1/notifications?status=waiting&kind=customer")
    assert answer.status == 200, answer
    assert answer.data == []
