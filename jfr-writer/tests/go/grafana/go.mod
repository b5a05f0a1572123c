module grafana-judge

go 1.22

require github.com/grafana/jfr-parser v0.9.3

require golang.org/x/text v0.17.0 // indirect
