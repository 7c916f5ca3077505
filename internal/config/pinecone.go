package config

import (
	"errors"
	"strconv"
	"strings"
)

// FirstIndex is the name of the index at PINECONE_INDEX_HOST. It holds every user whose record names no index.
const FirstIndex = "first"

// Indexes are the hosts of vector indexes by the names that users' records have.
type Indexes map[string]string

// UnmarshalText reads "b=host,c=host".
func (x *Indexes) UnmarshalText(text []byte) error {
	*x = Indexes{}
	for pair := range strings.SplitSeq(string(text), ",") {
		name, host, found := strings.Cut(strings.TrimSpace(pair), "=")
		_, twice := (*x)[name]
		if !found || name == "" || host == "" || name == FirstIndex || twice {
			return errors.New("not names and hosts")
		}
		(*x)[name] = host
	}
	return nil
}

// Namespaces is a number of namespaces that users share. 0 means that each user has one.
type Namespaces int

// maxNamespaces is the most that a plan of the service has by default ("Pinecone Database limits").
const maxNamespaces = 100_000

// UnmarshalText reads "user" or a number.
func (n *Namespaces) UnmarshalText(text []byte) error {
	if string(text) == "user" {
		*n = 0
		return nil
	}
	number, err := strconv.Atoi(string(text))
	if err != nil || number < 1 || number > maxNamespaces {
		return errors.New("not a number of namespaces")
	}
	*n = Namespaces(number)
	return nil
}
