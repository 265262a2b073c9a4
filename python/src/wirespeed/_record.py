"""A record: one SQLite file, read and never changed."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from . import _histogram
from ._program import review, write_table

APPLICATION_ID = 0x57535044

TABLES = {
    "steps": "SELECT * FROM v_step ORDER BY step",
    "intervals": "SELECT * FROM v_interval ORDER BY step, from_s, source",
    "events": "SELECT at_ns / 1e9 AS at_s, step, level, code, text FROM event ORDER BY at_ns, seq",
    "facts": "SELECT subject, key, value FROM fact ORDER BY seq",
    "sources": "SELECT source, kind, name, group_name, agent FROM source ORDER BY source",
    "counters": "SELECT s.name AS source, c.step, c.from_ns / 1e9 AS from_s, c.to_ns / 1e9 AS to_s, c.name,"
    " c.part, c.value, c.unit FROM counter c JOIN source s USING (source) ORDER BY c.seq",
}

DIRECTIONS = ("read", "write")


class Record:
    """The record of a run."""

    def __init__(self, path):
        self.path = Path(path)
        with closing(self._connect()) as db:
            if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise ValueError(f"{self.path} is no record of Wirespeed")
            row = db.execute("SELECT title, producer, status, wall_ns, seed FROM run").fetchone()
        self.title, self.producer, self.status, self.wall_ns, self.seed = row

    def __repr__(self):
        return f"<Record {self.path} {self.title!r}, {self.status}>"

    def _connect(self):
        uri = self.path.absolute().as_uri() + "?mode=ro"
        return sqlite3.connect(uri, uri=True)

    def _rows(self, table):
        if table not in TABLES:
            raise ValueError(f"there is no table {table!r}: {', '.join(TABLES)}")
        with closing(self._connect()) as db:
            cursor = db.execute(TABLES[table])
            return [column[0] for column in cursor.description], cursor.fetchall()

    def rows(self, table):
        """A table as a list of dictionaries: steps, intervals, events, facts, sources or counters."""
        names, rows = self._rows(table)
        return [dict(zip(names, row)) for row in rows]

    def steps(self):
        """What each step carried, over all workers and the measured time."""
        return self.rows("steps")

    def intervals(self):
        """What each source did, second by second."""
        return self.rows("intervals")

    def to_pandas(self, table="intervals"):
        """A table as a frame of pandas."""
        import pandas

        names, rows = self._rows(table)
        return pandas.DataFrame.from_records(rows, columns=names)

    def to_polars(self, table="intervals"):
        """A table as a frame of polars."""
        import polars

        names, rows = self._rows(table)
        return polars.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def to_arrow(self, table="intervals"):
        """A table of Apache Arrow."""
        import pyarrow

        names, rows = self._rows(table)
        return pyarrow.table({name: [row[n] for row in rows] for n, name in enumerate(names)})

    def to_parquet(self, path, rows="interval"):
        """Writes the rows of the program's CSV (`interval`, `step` or `stream`) as a table of Apache Parquet; its path."""
        write_table(self.path, rows, path)
        return Path(path)

    def histogram(self, step, direction=None, response=False):
        """Counts by time in nanoseconds, of a step's measured time, merged over all workers. Response time is counted
        from when an operation was due; it is service time where that is the same."""
        directions = DIRECTIONS if direction is None else (direction,)
        if not set(directions) <= set(DIRECTIONS):
            raise ValueError(f"a direction is one of {', '.join(DIRECTIONS)}")
        merged = Counter()
        with closing(self._connect()) as db:
            for name in directions:
                where = "FROM {0} t JOIN source s USING (source) WHERE t.step = ? AND s.kind = 'worker'"
                columns = f"SELECT t.{name}_service, t.{name}_response "
                rows = db.execute(columns + where.format("total"), (step,)).fetchall()
                # A run that goes on, or was killed, has no totals of its step yet.
                if not rows:
                    query = columns + where.format("interval") + " AND t.phase = 'measure'"
                    rows = db.execute(query, (step,)).fetchall()
                for service, own in rows:
                    merged += _histogram.bins(own if response and own is not None else service)
        return merged

    def percentile(self, p, step, direction=None, response=False):
        """A percentile of a step in seconds, off the merged histogram; None where nothing completed."""
        value = _histogram.percentile(self.histogram(step, direction, response), p)
        return None if value is None else value / 1e9

    def analysis(self):
        """The findings, as `wirespeed review --format json` prints them."""
        return review(self.path)
