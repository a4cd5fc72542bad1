(class_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @method
(program (lexical_declaration "const" (variable_declarator name: (identifier) @name) @value))
(export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @value))

; references

(call_expression function: (identifier) @reference)
(call_expression
  function: (member_expression property: [(property_identifier) (private_property_identifier)] @member))
(new_expression constructor: (identifier) @reference)
(class_heritage (identifier) @reference)
(import_specifier name: (identifier) @reference)
(import_clause (identifier) @reference)
(jsx_opening_element name: (identifier) @reference)
(jsx_self_closing_element name: (identifier) @reference)
(object_pattern (shorthand_property_identifier_pattern) @reference)
