// What Grafana's reader makes of every file that is named: one line a file.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"github.com/grafana/jfr-parser/parser"
)

func main() {
	for _, name := range os.Args[1:] {
		judge(name)
	}
}

func judge(name string) {
	bytes, err := os.ReadFile(name)
	if err != nil {
		fmt.Println("ERROR", err)
		return
	}
	reader := parser.NewParser(bytes, parser.Options{})
	for {
		_, err := reader.ParseEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println("ERROR", err)
			return
		}
	}
	// The constants of the last chunk.
	fmt.Println("READ", len(reader.Classes.Class), len(reader.Stacktrace.StackTrace), len(reader.Threads.Thread))
	// What it makes of our types: it passes their events over by the sizes.
	types := []string{}
	for name, class := range reader.TypeMap.NameMap {
		fields := []string{}
		for _, field := range class.Fields {
			of := reader.TypeMap.IDMap[field.Type]
			if of == nil {
				fmt.Println("ERROR no type of", name, field.Name)
				return
			}
			fields = append(fields, field.Name)
		}
		types = append(types, "TYPE "+name+" "+strings.Join(fields, ","))
	}
	sort.Strings(types)
	fmt.Println(strings.Join(types, "\n"))
	for _, stack := range reader.Stacktrace.StackTrace {
		for _, frame := range stack.Frames {
			method := reader.GetMethod(frame.Method)
			if method == nil {
				fmt.Println("ERROR no method")
				return
			}
			class := reader.GetClass(method.Type)
			fmt.Println("FRAME", reader.GetSymbolString(class.Name)+"."+reader.GetSymbolString(method.Name))
		}
	}
}
