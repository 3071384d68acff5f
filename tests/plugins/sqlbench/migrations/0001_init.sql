-- wharf: phase=expand
CREATE TABLE sqlbench.mark (
    organization_id text COLLATE "C" NOT NULL,
    n bigint NOT NULL CHECK (n > 0),
    place bigint GENERATED ALWAYS AS IDENTITY,
    role text NOT NULL DEFAULT current_user,
    PRIMARY KEY (organization_id, n)
);
