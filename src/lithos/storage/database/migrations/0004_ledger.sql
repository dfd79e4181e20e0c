-- Skills: one row per skill, one per immutable version. Thoughts and their registry lie in files of their own.
CREATE TABLE skills (
    skill_id {text} PRIMARY KEY,
    status {text} NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'deprecated', 'revoked')),
    status_reason {text},
    created_at {integer} NOT NULL,
    updated_at {integer} NOT NULL
) {strict};

CREATE TABLE skill_versions (
    version_id {text} PRIMARY KEY,
    skill_id {text} NOT NULL REFERENCES skills (skill_id),
    number {integer} NOT NULL,
    content {text} NOT NULL,
    content_hash {text} NOT NULL,
    source_format {text} NOT NULL CHECK (source_format IN ('markdown', 'json')),
    schema_version {integer} NOT NULL,
    fields {text} NOT NULL,
    uploaded_at {integer} NOT NULL,
    uploaded_by_agent_id {text} NOT NULL,
    uploaded_by_agent_name {text},
    uploaded_by_agent_owner {text},
    chain_key {text} NOT NULL,
    UNIQUE (skill_id, number),
    UNIQUE (skill_id, content_hash)
) {strict};
