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

// Embeddings are the embedding models of indexes by name.
type Embeddings map[string]Embedding

// Embedding is an embedding model and the dimension of its vectors.
type Embedding struct {
	Model      string
	Dimensions int
}

// Version names the model and the dimension. It is stored with each vector.
func (e Embedding) Version() string { return e.Model + "@" + strconv.Itoa(e.Dimensions) }

// UnmarshalText reads "b=model@1024,c=model@512".
func (x *Embeddings) UnmarshalText(text []byte) error {
	*x = Embeddings{}
	for pair := range strings.SplitSeq(string(text), ",") {
		name, version, _ := strings.Cut(strings.TrimSpace(pair), "=")
		at := max(strings.LastIndexByte(version, '@'), 0) // a model may have one in its name
		dimensions, err := strconv.Atoi(strings.TrimPrefix(version[at:], "@"))
		_, twice := (*x)[name]
		if name == "" || name == FirstIndex || twice || at == 0 || err != nil || dimensions < 1 {
			return errors.New("not names and models")
		}
		(*x)[name] = Embedding{Model: version[:at], Dimensions: dimensions}
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
