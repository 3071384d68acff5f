-- wharf: phase=expand

-- Nobody is to be told of this status: the write said notify_customer: false (spec 07 section
-- 16.3, rule 4).
ALTER TABLE shipments.tracking_update ADD COLUMN quiet boolean NOT NULL DEFAULT false;
