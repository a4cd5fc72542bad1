(function_declaration name: (identifier) @name) @function
(method_declaration name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name) @class
(type_alias name: (type_identifier) @name) @type
(source_file (const_declaration (const_spec name: (identifier) @name) @value))
(source_file (var_declaration (var_spec name: (identifier) @name) @value))
(method_elem name: (field_identifier) @name) @method

; references

(call_expression function: (identifier) @reference)
(selector_expression field: (field_identifier) @reference)
(type_identifier) @reference
