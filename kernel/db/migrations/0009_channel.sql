-- wharf: phase=expand
-- Channels: short messages to those who wait (docs/events.md 'Channels').
CREATE TABLE wharf.channel (
    organization_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (organization_id, name)
);
CREATE TABLE wharf.channel_message (
    organization_id text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz(3) NOT NULL,
    type text COLLATE "C" NOT NULL,
    ends text COLLATE "C",          -- streams with this tag end with the message, the others do not see it
    data text NOT NULL,
    PRIMARY KEY (organization_id, channel, seq)
);
CREATE INDEX channel_message_created ON wharf.channel_message (created_at);
SELECT wharf.protect_table(t::regclass) FROM unnest(ARRAY['wharf.channel', 'wharf.channel_message']) AS t;
