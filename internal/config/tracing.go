package config

import (
	"errors"
	"net/url"
	"strconv"
)

// Tracing configures where the spans of the functions are sent. The variables are OpenTelemetry's own.
type Tracing struct {
	// Endpoint is the base address of a collector that takes OTLP over HTTP. Empty means that there are no spans.
	Endpoint Endpoint `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	// Headers are what the collector asks for, such as "api-key=secret,x=y". HeadersSecret says that they are in a secret,
	// OTLPHeaders.
	Headers       string `env:"OTEL_EXPORTER_OTLP_HEADERS"`
	HeadersSecret bool   `env:"OTLP_HEADERS_SECRET"`
	// Share is the share of the traces that are sent. A caller's trace context can only leave its trace out.
	Share Share `env:"OTEL_TRACES_SAMPLER_ARG" envDefault:"1"`
}

// Secrets lists the keys that a function needs to send its spans, which is none without a collector.
func (t Tracing) Secrets() []Secret {
	if t.Endpoint == "" || !t.HeadersSecret {
		return nil
	}
	return []Secret{OTLPHeaders}
}

// Endpoint is the address of an HTTP service.
type Endpoint string

// UnmarshalText refuses what is no such address.
func (e *Endpoint) UnmarshalText(text []byte) error {
	*e = Endpoint(text)
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("not an address")
	}
	return nil
}

// Share is a part of a whole, from 0 to 1.
type Share float64

// UnmarshalText refuses what is no share.
func (s *Share) UnmarshalText(text []byte) error {
	number, err := strconv.ParseFloat(string(text), 64)
	if err != nil || number < 0 || number > 1 {
		return errors.New("not a share")
	}
	*s = Share(number)
	return nil
}
