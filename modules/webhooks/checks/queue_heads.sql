-- Every open delivery has its queue, and the head of each queue is an open delivery of it.
-- rows: webhooks.queue
-- Disable the webhook and enable it again (POST /v1/webhooks/:webhook). If that does not mend it,
-- run SELECT webhooks.rebuild_queue_heads(organization, webhook) in the database.
SELECT d.organization_id, d.webhook_id, 'the delivery ' || d.id || ' waits in no queue'
FROM webhooks.delivery d
WHERE d.status IN ('pending', 'retrying')
    AND NOT EXISTS (
        SELECT FROM webhooks.queue q
        WHERE q.organization_id = d.organization_id
            AND q.webhook_id = d.webhook_id
            AND q.lane = d.lane
            AND q.resource_type = d.resource_type
            AND q.resource_id = d.resource_id
    )
UNION ALL
SELECT q.organization_id, q.webhook_id,
    'the head of its queue for ' || q.resource_id || ', ' || q.head_id || ', is no open delivery'
FROM webhooks.queue q
WHERE NOT EXISTS (
        SELECT FROM webhooks.delivery d
        WHERE d.organization_id = q.organization_id
            AND d.webhook_id = q.webhook_id
            AND d.created_at = q.head_at
            AND d.event_id = q.head_event
            AND d.run_id = q.head_run
            AND d.status IN ('pending', 'retrying')
    )
