"""The package against the program: figures of a record are those of its review."""

import csv
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import wirespeed

sys.path.insert(0, str(Path(__file__).parent))
import parquet  # noqa: E402

SCENARIO = """
[scenario]
title = "from Python"
[[target]]
name = "n"
url = "null:"
size = "1GiB"
[workload.w]
block = "4KiB"
read = 70
rate = "2000 IOPS"
limit = 8
[plan]
workload = "w"
on = "n"
warmup = "0s"
measure = "5s"
sweep = { block = ["4KiB", "8KiB"] }
"""


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        cls.scenario = cls.folder / "s.toml"
        cls.scenario.write_text(SCENARIO)
        cls.record = wirespeed.run(cls.scenario, cls.folder / "r.wsr", set={"plan.measure": "1s"})
        cls.review = cls.record.analysis()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_a_record_says_what_it_is(self):
        self.assertEqual((self.record.title, self.record.status), ("from Python", "complete"))
        self.assertEqual(len(self.record.steps()), 2)
        self.assertGreater(len(self.record.intervals()), 1)

    def test_figures_are_those_of_the_review(self):
        for mine, theirs in zip(self.record.steps(), self.review["steps"]):
            both = theirs["total"]["both"]
            self.assertAlmostEqual(mine["iops"] / both["iops"], 1, delta=0.01)
            self.assertAlmostEqual(mine["mb_per_s"] * 1e6 / both["bytes_per_s"], 1, delta=0.01)

    def test_percentiles_are_those_of_the_review(self):
        for step, theirs in enumerate(self.review["steps"]):
            for direction in ("read", "write"):
                latency = theirs["total"][direction]["response"]
                mine = self.record.percentile(99, step, direction, response=True)
                self.assertAlmostEqual(mine * 1e9 / latency["p99_ns"], 1, delta=0.01)

    def test_goals_are_junit_of_any_title(self):
        goal = '[[goal]]\nname = "<more> & \\"more\\""\niops = { at_least = "1M IOPS" }\n'
        scenario = self.folder / "goals.toml"
        scenario.write_text(SCENARIO.replace("from Python", "<title>") + goal)
        record = wirespeed.run(scenario, self.folder / "goals.wsr", set={"plan.measure": "300ms"})
        suites = ElementTree.fromstring(wirespeed.export(record.path, "junit"))
        self.assertEqual((suites.get("tests"), suites.get("failures")), ("1", "1"))
        case = suites.find("testsuite/testcase")
        self.assertEqual((case.get("classname"), case.get("name")), ("<title>", '<more> & "more"'))
        self.assertEqual(case.find("failure").get("type"), "failed")

    def test_lines_for_influx_add_up_to_the_record(self):
        ops, fields = 0, 0
        for line in wirespeed.export(self.record.path, "influx").splitlines():
            tags, values, moment = line.replace("\\ ", "_").split(" ")
            self.assertTrue(tags.startswith("wirespeed,run=from_Python,plan=plan,step="))
            self.assertGreaterEqual(int(moment), self.record.wall_ns)
            pairs = dict(pair.split("=") for pair in values.split(","))
            ops += sum(int(pairs[key].rstrip("i")) for key in ("read_ops", "write_ops"))
            fields += 1
        rows = [row for row in self.record.intervals() if row["source"] == "n"]
        self.assertEqual(fields, len(rows))
        expected = sum((row["read_iops"] + row["write_iops"]) * (row["to_s"] - row["from_s"]) for row in rows)
        self.assertAlmostEqual(ops, expected, delta=1)

    def test_a_table_of_parquet_holds_what_csv_says(self):
        closed = self.folder / "closed.toml"
        closed.write_text(SCENARIO.replace('rate = "2000 IOPS"\nlimit = 8', "depth = 2").replace("read = 70", "read = 100"))
        closed = wirespeed.run(closed, self.folder / "closed.wsr", set={"plan.measure": "300ms"})
        for record, rows in ((self.record, "step"), (self.record, "interval"), (closed, "interval")):
            table = parquet.read(record.to_parquet(self.folder / f"{rows}.parquet", rows))
            text = wirespeed._program._call(["review", record.path, "--format", "csv", "--rows", rows])
            lines = list(csv.DictReader(io.StringIO(text)))
            self.assertEqual(list(table), list(lines[0]))
            kinds = set()
            for name, column in table.items():
                self.assertEqual(len(column), len(lines))
                for mine, theirs in zip(column, (line[name] for line in lines)):
                    kinds.add(type(mine))
                    if mine is None:
                        self.assertEqual(theirs, "")
                    elif isinstance(mine, (str, bool)):
                        self.assertEqual(str(mine).lower(), theirs.lower())
                    else:
                        self.assertEqual(mine, type(mine)(theirs), name)
            self.assertTrue(kinds >= {int, float, str}, kinds)
            self.assertTrue(record is not closed or type(None) in kinds)

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_other_readers_read_the_table(self):
        import pyarrow.parquet

        path = self.record.to_parquet(self.folder / "again.parquet")
        theirs = pyarrow.parquet.read_table(path).to_pydict()
        self.assertEqual(theirs, parquet.read(path))

    def test_a_plan_is_read(self):
        plan = wirespeed.plan(self.scenario)
        self.assertEqual((len(plan["steps"]), plan["load_s"]), (2, plan["load_s"]))

    def test_mistakes_are_raised(self):
        with self.assertRaises(wirespeed.WirespeedError) as raised:
            wirespeed.run(self.scenario, self.folder / "x.wsr", set={"plan.mesure": "1s"})
        self.assertEqual(raised.exception.code, 2)
        self.assertIn("mesure", str(raised.exception))
        with self.assertRaises(ValueError):
            self.record.rows("nothing")
        with self.assertRaises(Exception):
            wirespeed.open(self.scenario)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas(self):
        frame = self.record.to_pandas("intervals")
        self.assertEqual(len(frame), len(self.record.intervals()))
        self.assertGreater(frame.read_iops.mean(), 0)

    @unittest.skipUnless(importlib.util.find_spec("polars"), "polars is not installed")
    def test_polars(self):
        frame = self.record.to_polars("intervals")
        self.assertEqual(frame.height, len(self.record.intervals()))

    @unittest.skipUnless(importlib.util.find_spec("pyarrow"), "pyarrow is not installed")
    def test_arrow(self):
        self.assertEqual(self.record.to_arrow("steps").num_rows, 2)


if __name__ == "__main__":
    unittest.main()
