-- wharf: phase=expand

-- Adds: false tells no recipient of the shipments that the batch changes (spec 07 section 16.3).
ALTER TABLE batches.batch ADD COLUMN notify_customer boolean NOT NULL DEFAULT true;
