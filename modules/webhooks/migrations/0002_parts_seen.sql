-- wharf: phase=expand
-- Which parts of the event's data the webhook sees (wharf/service/events.h, with_parts); NULL: the
-- event has none.
ALTER TABLE webhooks.delivery ADD COLUMN parts_seen text;
