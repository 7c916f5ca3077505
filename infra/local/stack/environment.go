package stack

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Parse reads a configuration from an environment. Its error is one line that names every variable that cannot be used,
// and says what would do.
func Parse(environ map[string]string) (Config, error) {
	cfg, err := env.ParseAsWithOptions[Config](env.Options{
		Environment: environ, FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[bool](): parseSwitch},
	})
	wrong := unreadable(err, environ)
	if err == nil {
		wrong = cfg.unusable()
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return Config{}, errors.New(strings.Join(wrong, "; "))
	}
	cfg.Environment = environ
	return cfg, nil
}

// parseSwitch reads on and off (api 6) beside what Go takes for true and false.
func parseSwitch(text string) (any, error) {
	switch strings.ToLower(text) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return strconv.ParseBool(text)
}

// unreadable words the errors of the parser, which knows fields and Go's types, in variables and their values.
func unreadable(err error, environ map[string]string) (wrong []string) {
	if err == nil {
		return nil
	}
	all, _ := errors.AsType[env.AggregateError](err)
	for _, one := range all.Errors {
		parse, ok := errors.AsType[env.ParseError](one)
		field, known := reflect.TypeFor[Config]().FieldByName(parse.Name)
		if !ok || !known {
			wrong = append(wrong, one.Error())
			continue
		}
		name := field.Tag.Get("env")
		switch field.Type.Kind() {
		case reflect.Int:
			wrong = append(wrong, fmt.Sprintf("%s=%s: must be %s", name, environ[name], numberRule(name)))
		case reflect.Bool:
			wrong = append(wrong, fmt.Sprintf("%s=%s: must be on or off, or true or false", name, environ[name]))
		default: // a type of this package, whose error says all
			wrong = append(wrong, parse.Err.Error())
		}
	}
	if len(wrong) == 0 {
		wrong = []string{err.Error()}
	}
	return wrong
}

func numberRule(variable string) string {
	if strings.HasSuffix(variable, "PORT") {
		return "a port from 1 to 65535, or 0 for any that is free"
	}
	return "a whole number above 0"
}

// unusable says which values were read and cannot be meant.
func (c Config) unusable() (wrong []string) {
	refuse := func(variable string, value any, rule string) {
		wrong = append(wrong, fmt.Sprintf("%s=%v: must be %s", variable, value, rule))
	}
	for variable, port := range map[string]int{
		"PORT": c.Port, "DYNAMODB_PORT": c.DynamoDBPort, "PINECONE_PORT": c.PineconePort, "OPENAI_PORT": c.OpenAIPort,
		"LAMBDA_PORT": c.LambdaPort,
	} {
		if port < 0 || port > 65535 {
			refuse(variable, port, numberRule(variable))
		}
	}
	if c.EmbeddingDimensions < 1 {
		refuse("OPENAI_EMBEDDING_DIMENSIONS", c.EmbeddingDimensions, numberRule(""))
	}
	for variable, address := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": c.DynamoDBEndpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": c.StreamsEndpoint,
		"OPENAI_BASE_URL": c.OpenAIBaseURL, "OPENAI_EMBEDDING_BASE_URL": c.EmbeddingBaseURL,
	} {
		if address != "" && !isURL(address) {
			refuse(variable, address, "a URL that begins with http:// or https://")
		}
	}
	return wrong
}

func isURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
