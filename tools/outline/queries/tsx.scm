(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @type
(internal_module name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @function
(method_signature name: (property_identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration "const" (variable_declarator name: (identifier) @name) @value))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @value))

; references

(call_expression function: (identifier) @reference)
(call_expression
  function: (member_expression property: [(property_identifier) (private_property_identifier)] @member))
(new_expression constructor: (identifier) @reference)
(type_identifier) @reference
(extends_clause (identifier) @reference)
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
