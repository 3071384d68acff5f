-- wharf: phase=expand
-- Several workers on one batch: whose a chunk is (the batch's lease under which it was taken; 0: nobody's), and how often it was begun.

ALTER TABLE batches.chunk
    ADD COLUMN lease bigint NOT NULL DEFAULT 0,
    ADD COLUMN tries smallint NOT NULL DEFAULT 0;
