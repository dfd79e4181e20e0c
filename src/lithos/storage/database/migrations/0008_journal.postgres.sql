INSERT INTO journal (topic, seq, kind, subject, agent, at, details)
    SELECT 'board', seq, kind, task_id, agent, at,
        CASE WHEN aspect IS NULL THEN NULL ELSE json_build_object('aspect', aspect)::text END
    FROM board_changes;
DROP TABLE board_changes;
DROP TABLE board_state;
