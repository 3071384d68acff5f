-- wharf: phase=expand

-- Whether the recipients of the shipments that a batch changes are told (spec 07 section 16.3).
ALTER TABLE batches.batch ADD COLUMN notify_customer boolean NOT NULL DEFAULT true;
