-- The contacts of a reading are those of its sender and recipient.
-- rows: inference.shipping_label
-- Choose the contact again by an update of the reading.
SELECT t.organization_id, t.id,
    'names the contacts ' || coalesce(t.recipient_contact_id, 'null') || ' and '
    || coalesce(t.sender_contact_id, 'null') || ', and its parties others'
FROM inference.shipping_label t
WHERE t.deleted_at IS NULL
    AND (t.recipient_contact_id IS DISTINCT FROM t.recipient ->> 'contact_id'
        OR t.sender_contact_id IS DISTINCT FROM t.sender ->> 'contact_id')
