package strictjson

// Storable is what the external tests fuzz.
var Storable = storable
