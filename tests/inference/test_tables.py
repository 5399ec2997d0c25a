import gzip
from pathlib import Path

import pytest

from inference.sources import SourceError
from inference.sources.described import unique_ids
from inference.sources.tables import read_text_table


def _file(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_r9_a_byte_order_mark_and_semicolons_leave_clean_columns(tmp_path):
    table = read_text_table(_file(tmp_path, "\ufeffID;label\r\n1;correct\r\n"))
    assert table.columns == ("ID", "label")
    assert table.rows == (("1", "correct"),)


def test_r9_quoted_line_breaks_and_doubled_quotes_are_one_cell(tmp_path):
    table = read_text_table(_file(tmp_path, 'id,text\n1,"line one\nline, two; ""quoted"""\n2,b\n'))
    assert table.column("text") == ('line one\nline, two; "quoted"', "b")
    assert table.lines == (2, 4)


def test_r9_quotes_in_the_last_of_many_rows_are_understood(tmp_path):
    rows = "".join(f"{i},plain\n" for i in range(25_000))
    table = read_text_table(_file(tmp_path, f'id,text\n{rows}25000,"last, quoted"\n'))
    assert len(table.rows) == 25_001
    assert table.rows[-1] == ("25000", "last, quoted")


def test_data_rows_do_not_vote_on_the_delimiter(tmp_path):
    table = read_text_table(_file(tmp_path, "id\ttext\n1\ta, b, c; d\n"))
    assert table.rows == (("1", "a, b, c; d"),)


def test_r10_ids_stay_text(tmp_path):
    ids = ["007", "7", "00070", "52779E469111", "1.0", "NA", "true"]
    table = read_text_table(_file(tmp_path, "id\n" + "\n".join(ids)))
    assert table.column("id") == tuple(ids)
    assert unique_ids(table, ("id",)) == tuple(ids)


def test_r11_a_duplicate_id_is_named_with_its_lines(tmp_path):
    table = read_text_table(_file(tmp_path, "id,score\n3,10\n4,1\n3,4\n"))
    with pytest.raises(SourceError, match=r"t\.csv: id '3' stands on lines 2, 4; make ids unique"):
        unique_ids(table, ("id",))


def test_r11_a_composite_key_is_unique_where_its_parts_are_not(tmp_path):
    table = read_text_table(_file(tmp_path, "q,id\n3,1\n4,1\n3,2\n"))
    assert unique_ids(table, ("q", "id")) == ("3|1", "4|1", "3|2")


def test_bytes_that_are_not_utf8_are_read_as_cp1252_and_said_so(tmp_path, caplog):
    table = read_text_table(_file(tmp_path, "id,text\n1,café “quoted”\n".encode("cp1252")))
    assert table.encoding == "cp1252"
    assert "t.csv: not UTF-8, read as cp1252" in caplog.text
    assert table.column("text") == ("café “quoted”",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("id,text\n1,ä\n".encode("utf-16"), "holds NUL bytes"),
        ("a,a\n1,2\n", "column 'a' is blank or stands twice"),
        ("a,b\n1\n", r"line 2: 1 cells where the header has 2"),
        ("a,b\n1,2\n1,2,3\n", r"line 3: 3 cells where the header has 2"),
        ('a,b\n1,"open\n', "line 2: .*close or double the quote"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(tmp_path, content, message):
    with pytest.raises(SourceError, match=message) as caught:
        read_text_table(_file(tmp_path, content))
    assert "t.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"id,text\n1,a\n", gzip.compress(b"id,text\n1,a\n", mtime=0)[:-9]])
def test_a_file_that_is_no_whole_gzip_is_named(tmp_path, content):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"t\.csv\.gz: not a whole gzip file .*compress it again"):
        read_text_table(path)


def test_a_missing_column_lists_those_that_there_are(tmp_path):
    table = read_text_table(_file(tmp_path, "id,text\n1,a\n"))
    with pytest.raises(SourceError, match="no column 'answer'; it has 'id', 'text'"):
        table.column("answer")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"none\.csv: no such file"):
        read_text_table(tmp_path / "none.csv")
