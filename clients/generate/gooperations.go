package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// goOperations returns operations.go: a method for each operation, and the types of their queries.
func goOperations(d *document) string {
	var b strings.Builder
	b.WriteString(goHead + "import (\n\t\"context\"\n\t\"iter\"\n\t\"time\"\n)\n")
	for _, o := range d.operations() {
		d.writeQuery(&b, o)
		name := exported(o.OperationID)
		arguments := []string{"ctx context.Context"}
		for _, p := range o.pathNames() {
			arguments = append(arguments, initials(p)+" string")
		}
		if o.body() != "" {
			arguments = append(arguments, "body "+o.body())
		}
		if len(o.in("query")) > 0 {
			arguments = append(arguments, "query "+name+"Query")
		}
		arguments = append(arguments, "options ...Option")
		returns, body := d.goReturn(o), d.goBody(o)
		head := fmt.Sprintf("func (c *Client) %s(%s) %s {\n", name, strings.Join(arguments, ", "), returns)
		if len(head) > 120 {
			head = fmt.Sprintf("func (c *Client) %s(\n\t%s,\n) %s {\n", name, strings.Join(arguments, ",\n\t"), returns)
		}
		fmt.Fprintf(&b, "\n// %s\n%s%s}\n", wrap(name+" "+o.goDoc(), "// "), head, body)
	}
	return formatted(b.String())
}

// goDoc returns the summary and the description as they go on after the method's name.
func (o *operation) goDoc() string {
	verb, rest, _ := strings.Cut(o.doc(), " ")
	verb, end := strings.TrimRight(verb, ",."), verb[len(strings.TrimRight(verb, ",.")):]
	return thirdPerson(strings.ToLower(verb)) + end + " " + rest
}

// thirdPerson returns the form of a verb that follows a name.
func thirdPerson(verb string) string {
	switch {
	case strings.HasSuffix(verb, "ry"):
		return strings.TrimSuffix(verb, "y") + "ies"
	case strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "sh"):
		return verb + "es"
	}
	return verb + "s"
}

// writeQuery writes the type of an operation's query.
func (d *document) writeQuery(b *strings.Builder, o *operation) {
	query := o.in("query")
	if len(query) == 0 {
		return
	}
	name := exported(o.OperationID)
	fmt.Fprintf(b, "\n// %sQuery is the query of %s.\ntype %sQuery struct {\n", name, name, name)
	for _, p := range query {
		if p.Description != "" {
			fmt.Fprintf(b, "\t// %s\n", wrap(p.Description, "\t// "))
		}
		kind := d.golang(&p.Schema)
		fmt.Fprintf(b, "\t%s %s `json:\"%s,omitzero\"`\n", exported(p.Name), pointer(kind, kind == "bool"), p.Name)
	}
	b.WriteString("}\n")
}

// goReturn returns the types of what a method returns.
func (d *document) goReturn(o *operation) string {
	switch o.Kind {
	case "page":
		return "Pages[" + d.golang(d.itemOf(o.Answers[0])) + "]"
	case "events":
		return "iter.Seq2[ChatEvent, error]"
	case "lines":
		return "iter.Seq2[Record, error]"
	}
	types := make([]string, 0, len(o.Answers)+1)
	for _, answer := range o.Answers {
		if answer != "" {
			types = append(types, "*"+answer)
		}
	}
	if len(types) == 0 {
		return "error"
	}
	return "(" + strings.Join(append(types, "error"), ", ") + ")"
}

// goBody returns the statements of a method.
func (d *document) goBody(o *operation) string {
	switch o.Kind {
	case "page":
		item := d.golang(d.itemOf(o.Answers[0]))
		return fmt.Sprintf("\treturn pages[%s](ctx, c, %s, options)\n", item, o.goRequest())
	case "events":
		return fmt.Sprintf("\treturn c.chat(ctx, %s, options)\n", o.goRequest())
	case "lines":
		return fmt.Sprintf("\treturn c.export(ctx, %s, options)\n", o.goRequest())
	}
	var declared, names, answers []string
	for _, name := range o.Answers {
		if name != "" {
			names = append(names, unexported(name))
			declared = append(declared, fmt.Sprintf("\tvar %s *%s\n", unexported(name), name))
		}
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		c := o.Responses[status].Content["application/json"].Schema
		if name := c.name(); status[0] == '2' && name != "" {
			answers = append(answers, fmt.Sprintf("%s: &%s", status, unexported(name)))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("\treturn c.do(ctx, %s, options, nil)\n", o.goRequest())
	}
	return fmt.Sprintf("%s\terr := c.do(ctx, %s, options, map[int]any{%s})\n\treturn %s, err\n",
		strings.Join(declared, ""), o.goRequest(), strings.Join(answers, ", "), strings.Join(names, ", "))
}

// goRequest returns what a method says of its call.
func (o *operation) goRequest() string {
	fields := []string{fmt.Sprintf("method: %q, path: %q", o.Method, o.Path)}
	if names := o.pathNames(); len(names) > 0 {
		for i, name := range names {
			names[i] = initials(name)
		}
		fields = append(fields, "in: []string{"+strings.Join(names, ", ")+"}")
	}
	for _, field := range []struct {
		text string
		is   bool
	}{
		{"body: body", o.body() != ""},
		{"query: query", len(o.in("query")) > 0},
		{"keyed: true", o.keyed()},
		{"stream: true", o.Kind == "events" || o.Kind == "lines"},
	} {
		if field.is {
			fields = append(fields, field.text)
		}
	}
	return "request{\n\t\t" + strings.Join(fields, ", ") + ",\n\t}"
}

// unexported returns the name of a variable of a type.
func unexported(name string) string { return strings.ToLower(name[:1]) + name[1:] }
