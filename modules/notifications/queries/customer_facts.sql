-- Reads what shipments say of the events that gave them a status: the status, whether nobody is to
-- be told, when it happened, and the recipient. Left out: shipments that are gone or have a parent,
-- those that a later leg of their tracker follows, and (events without data) those of which the
-- event brought no line with a status. $1 organization, $2 events: i number, s shipment, known: the
-- event says the status, st the statuses that count, at when.
SELECT x.i, u.status, u.quiet, u.occurred_at, s.recipient_contact_id
FROM jsonb_to_recordset($2::jsonb) AS x(i bigint, s text, known boolean, st text[],
    at timestamptz)
JOIN shipments.shipment s
    ON s.organization_id = $1::text
        AND s.id = x.s
        AND s.deleted_at IS NULL
        AND s.parent_id IS NULL
JOIN LATERAL (
    SELECT l.status, l.quiet, l.occurred_at, l.created_at
    FROM shipments.tracking_update l
    WHERE l.organization_id = $1::text
        AND l.shipment_id = x.s
        AND NOT l.comment_only
        AND l.status = ANY (x.st)
        AND l.created_at <= x.at + interval '2 ms'
    ORDER BY l.created_at DESC, l.position DESC
    LIMIT 1
) u ON true
WHERE (x.known OR u.created_at >= x.at - interval '2 ms')
    AND NOT EXISTS (
        SELECT FROM shipments.shipment later
        WHERE later.organization_id = $1::text
            AND later.tracker_id = s.tracker_id
            AND later.deleted_at IS NULL
            AND later.leg > s.leg
    )
