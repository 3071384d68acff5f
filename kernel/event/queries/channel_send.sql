-- Adds a message to a channel, with the next number of the channel. Returns the number. $1
-- organization, $2 channel, $3 now, $4 type of the message, $5 tag of the streams that end with it,
-- or null, $6 the other members of its JSON, with a comma before the first.
WITH n AS (
    INSERT INTO wharf.channel AS c (organization_id, name, seq)
    VALUES ($1, $2, 1)
    ON CONFLICT (organization_id, name) DO UPDATE
    SET seq = c.seq + 1
    RETURNING seq
)
INSERT INTO wharf.channel_message (organization_id, channel, seq, created_at, type, ends, data)
SELECT $1, $2, n.seq, $3::timestamptz, $4, $5,
    '{"type":"' || $4 || '","seq":' || n.seq || ',"at":"' || $3 || '"' || $6 || '}'
FROM n
RETURNING seq
