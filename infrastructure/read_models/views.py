"""The views of a read model file: what an auditor or an operator asks first, one statement each."""

from collections.abc import Mapping

_NOW_LESS = "ROUND((julianday('now') - julianday({since})) * 86400, 1)"

VIEWS: Mapping[str, str] = {
    "slowest_tools": """
        SELECT name, SUM(state != 'repeated') AS calls, SUM(state = 'answered') AS answered,
          SUM(state = 'open') AS open, SUM(state = 'healed') AS healed,
          ROUND(AVG(latency_s), 3) AS mean_s,
          ROUND(MAX(CASE WHEN place <= (timed + 1) / 2 THEN latency_s END), 3) AS median_s,
          ROUND(MAX(CASE WHEN place <= (timed * 95 + 99) / 100 THEN latency_s END), 3) AS p95_s,
          ROUND(MAX(latency_s), 3) AS max_s
        FROM (
          SELECT name, state, latency_s, COUNT(latency_s) OVER (PARTITION BY name) AS timed,
            ROW_NUMBER() OVER (PARTITION BY name ORDER BY latency_s IS NULL, latency_s) AS place
          FROM calls WHERE NOT carried AND state NOT IN ('unusable', 'forgotten')
        )
        GROUP BY name ORDER BY median_s DESC
        """,
    "unanswered_calls": f"""
        SELECT calls.conversation_id, calls.call_id, calls.name, calls.arguments, calls.state,
          calls.declared_at, {_NOW_LESS.format(since="calls.declared_at")} AS age_s,
          calls.turn_id, calls.execution_id, calls.entry_id
        FROM calls JOIN entries USING (entry_id)
        WHERE calls.state IN ('open', 'healed') ORDER BY calls.declared_at
        """,
    "healed_conversations": """
        SELECT conversation_id, heals, COUNT(answered_at) AS answered_late,
          COUNT(*) - COUNT(answered_at) AS still_unanswered,
          MIN(healed_at) AS first_healed_at, MAX(healed_at) AS last_healed_at
        FROM calls JOIN conversations USING (conversation_id)
        WHERE healed_at IS NOT NULL AND state != 'forgotten'
        GROUP BY conversation_id ORDER BY last_healed_at DESC
        """,
    "delivered_by_run": """
        SELECT artifacts.conversation_id, artifacts.execution_id, artifacts.type, artifacts.payload,
          artifacts.since AS delivered_at, artifacts.since_version AS version,
          CASE WHEN artifacts.entry_id IS NULL THEN 'elsewhere' ELSE 'entry ' || entries.entry END
            AS delivered_on,
          entries.text AS said, artifacts.artifact_id, artifacts.take_id, artifacts.entry_id
        FROM artifacts LEFT JOIN entries USING (entry_id)
        WHERE artifacts.place = 'delivered'
        ORDER BY artifacts.since, artifacts.conversation_id, artifacts.since_version, artifacts.place_order
        """,
    "open_takes": f"""
        SELECT conversation_id, take_id, execution_id, artifacts, taken_at,
          {_NOW_LESS.format(since="taken_at")} AS age_s, context
        FROM takes WHERE state = 'open' ORDER BY taken_at
        """,
    "buffers": """
        SELECT conversation_id, position, sendable_position, entry, role, name, text, called, state, time,
          entry_id
        FROM entries WHERE position IS NOT NULL ORDER BY conversation_id, position
        """,
}
