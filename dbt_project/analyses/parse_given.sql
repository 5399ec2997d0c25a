-- what `thetahouse parse` runs; see macros/parsing/parse_given.sql for the tables that it reads
{{ parse_given() }}
